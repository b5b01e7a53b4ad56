#!/bin/sh
# Make the stores of this folder anew, with the keytool and openssl on the PATH: sh make.sh
set -eu
cd "$(dirname "$0")"
rm -f ./*.jks ./*.p12 ./*.pem ./*.jceks
store="store pass"

kt() { keytool "$@" 2>/dev/null; }

kt -genkeypair -alias root -dname CN=root -ext bc:c -keyalg EC -groupname secp256r1 -validity 36500 \
    -storetype PKCS12 -keystore authority.p12 -storepass "$store"
kt -exportcert -rfc -alias root -keystore authority.p12 -storepass "$store" >root.pem
kt -genkeypair -alias between -dname CN=between -ext bc:c -keyalg EC -groupname secp256r1 -validity 36500 \
    -storetype PKCS12 -keystore between.p12 -storepass "$store"
kt -certreq -alias between -keystore between.p12 -storepass "$store" |
    kt -gencert -alias root -ext bc:c -keystore authority.p12 -storepass "$store" -validity 36500 -rfc >between.pem
cat root.pem between.pem >chain.pem
kt -importcert -noprompt -alias between -file chain.pem -keystore between.p12 -storepass "$store"

# FILE TYPE KEY_PASSWORD ALGORITHM SIZE...: a key whose certificate `between` has signed
key_store() {
    file=$1 type=$2 key=$3
    shift 3
    kt -genkeypair -alias me -dname CN=me -keyalg "$@" -validity 36500 \
        -storetype "$type" -keystore "$file" -storepass "$store" -keypass "$key"
    kt -certreq -alias me -keystore "$file" -storepass "$store" -keypass "$key" |
        kt -gencert -alias between -ext san=dns:kafka-1 -keystore between.p12 -storepass "$store" \
            -validity 36500 -rfc >me.pem
    cat root.pem between.pem me.pem >all.pem
    kt -importcert -noprompt -alias me -file all.pem -keystore "$file" -storepass "$store" -keypass "$key"
}

key_store two-passwords.jks JKS "key pass" EC -groupname secp256r1
key_store rsa.jks JKS "$store" RSA -keysize 2048
key_store key.p12 PKCS12 "$store" EC -groupname secp256r1
openssl pkcs12 -in key.p12 -passin "pass:$store" -nodes -out key.pem
openssl pkcs12 -export -in key.pem -inkey key.pem -certfile chain.pem -passout "pass:$store" -out openssl.p12

for type in JKS PKCS12 JCEKS; do
    file=trust.$(echo "$type" | tr A-Z a-z | sed s/pkcs/p/)
    kt -importcert -noprompt -alias root -file root.pem -storetype $type -keystore "$file" -storepass "$store"
done
kt -J-Dkeystore.pkcs12.legacy -importcert -noprompt -alias root -file root.pem \
    -storetype PKCS12 -keystore trust-legacy.p12 -storepass "$store"
# Neither a password nor a digest, as the JDK's own cacerts has been since 18.
kt -J-Dkeystore.pkcs12.certProtectionAlgorithm=NONE -J-Dkeystore.pkcs12.macAlgorithm=NONE -importcert \
    -noprompt -alias root -file root.pem -storetype PKCS12 -keystore trust-open.p12 -storepass "$store"
rm -f me.pem all.pem chain.pem between.pem between.p12 key.pem authority.p12
